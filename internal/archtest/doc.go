// Package archtest holds the import policy of this module, and the test that
// keeps the source to it; also the one that keeps the claims of documents to
// tests. It has no code of its own.
package archtest
