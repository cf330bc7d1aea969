// Package changes gives the change records of a table that logs them: what each write of a range did to the rows of one file group,
// as Hudi's own change data query shows it.
//
//	op  ts_ms              before             after
//	i   20261130011653543  null               {"_hoodie_commit_time":"20261130011653543",…,"id":"k4","ts":30}
//	u   20261130011639182  {"id": "k1", …}    {"id": "k1", …}
//	d   20261130011647487  {"id": "k8", …}    null
//
// Most writes log nothing: what they did is inferred from their commit metadata (Infer), and told from the files that they made and
// those that were there before (hudi-common: HoodieCDCExtractor; spark: CDCFileGroupIterator):
//
//	commit of a write, one write stat                       its changes
//	has change logs                                         what they say
//	a new file group                                        every row of the base file: i
//	a base file without rows                                every row of the base file before: d
//	a base file in place of another, no change log          the two are compared
//	a log file                                              it is merged with the slice before: i, u, d
//	a file group that was replaced                          every row of its newest slice: d
//
// Images are JSON text in the very form that Hudi's releases give them, which depends on where an image comes from: see form.
package changes
