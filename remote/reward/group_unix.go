//go:build unix

package reward

import (
	"os"
	"os/exec"
	"syscall"
)

// leadGroup has a command lead a group of processes: itself and what it starts.
func leadGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// kill ends the group that p leads. A shell that is killed alone leaves its commands running.
func kill(p *os.Process) { _ = syscall.Kill(-p.Pid, syscall.SIGKILL) }
