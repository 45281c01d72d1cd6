/** Answers the parent's question for the CPU time (user and system) that this process has used, in microseconds. */
export function reportCpu(port: number): void {
  process.on('message', () => {
    const { user, system } = process.cpuUsage()
    process.send?.({ cpuMicros: user + system })
  })
  process.on('disconnect', () => process.exit(0))
  process.send?.({ port })
}
