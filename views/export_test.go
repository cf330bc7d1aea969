package views

import "time"

// SetIdleBeforeRest sets how long nobody must have read before the rest of a file is made.
func SetIdleBeforeRest(d time.Duration) (restore func()) {
	before := idleBeforeRest
	idleBeforeRest = d
	return func() { idleBeforeRest = before }
}
