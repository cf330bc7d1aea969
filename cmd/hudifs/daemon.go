package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// How a daemon begins. Go cannot fork, so the command runs itself again with the same arguments, in a session of its own:
//
//	parent   runs the child with a pipe as its standard error, and another one as descriptor 3
//	child    mounts; then turns its standard error to the log file, and writes a byte to descriptor 3
//	parent   prints what the child said until then, which are warnings, and ends with 0; or, where descriptor 3 is closed
//	         without a byte, prints the reason and takes over the child's status

// daemonVar tells a process that it is the daemon.
const daemonVar = "HUDIFS_DAEMON"

const readyFD = 3

// daemonError is the failure of a daemon, who has told the reason already.
type daemonError struct{ status int }

func (e daemonError) Error() string { return fmt.Sprintf("the daemon ended with status %d", e.status) }

func isDaemon() bool { return os.Getenv(daemonVar) != "" }

// startDaemon runs this command in the background, and returns when its mount can be used.
func startDaemon() error {
	readyIn, readyOut, err := os.Pipe()
	if err != nil {
		return err
	}
	defer closeAll(readyIn)
	saidIn, saidOut, err := os.Pipe()
	if err != nil {
		closeAll(readyOut)
		return err
	}
	defer closeAll(saidIn)
	// By this path the program is found even where it was moved, and is the same one even where it was replaced.
	cmd := &exec.Cmd{Path: "/proc/self/exe", Args: os.Args}
	cmd.Env = append(os.Environ(), daemonVar+"=1")
	cmd.Stderr = saidOut
	cmd.ExtraFiles = []*os.File{readyOut}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	err = cmd.Start()
	closeAll(readyOut, saidOut)
	if err != nil {
		return err
	}
	said := make(chan []byte, 1)
	go func() {
		all, _ := io.ReadAll(saidIn)
		said <- all
	}()
	ready, _ := readyIn.Read(make([]byte, 1))
	if ready == 0 {
		err = cmd.Wait()
	}
	if _, err := os.Stderr.Write(<-said); err != nil {
		return err
	}
	if ready == 1 {
		return cmd.Process.Release()
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() > 0 {
		return daemonError{exit.ExitCode()}
	}
	return fmt.Errorf("the daemon died: %w", err)
}

// closeAll closes ends of pipes, from which nothing is left to hear.
func closeAll(files ...*os.File) {
	for _, f := range files {
		_ = f.Close()
	}
}

// detachDaemon tells the parent that all is well, and lets go of the terminal and the working directory. What the runtime
// itself has to say goes to the log from here on.
func detachDaemon(log *os.File) error {
	if !isDaemon() {
		return nil
	}
	out := log
	if out == nil {
		var err error
		if out, err = os.OpenFile(os.DevNull, os.O_WRONLY, 0); err != nil {
			return err
		}
		defer closeAll(out)
	}
	for _, fd := range []int{1, 2} {
		if err := unix.Dup3(int(out.Fd()), fd, 0); err != nil {
			return fmt.Errorf("log file: %w", err)
		}
	}
	if err := os.Chdir("/"); err != nil {
		return err
	}
	ready := os.NewFile(readyFD, "ready")
	_, err := ready.Write([]byte{1})
	return errors.Join(err, ready.Close())
}
