// Package archtest holds the import policy of this module, and the test that
// keeps the source to it. It has no code of its own.
package archtest
