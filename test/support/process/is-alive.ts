/** Whether a process runs, or has ended without its parent having noticed. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    // ESRCH: it is gone.
    return false
  }
}
