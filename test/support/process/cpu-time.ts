/** The processor time of this process that work takes, in milliseconds: unlike a clock, it stands still while other processes run. */
export async function cpuMsOf(work: () => unknown): Promise<number> {
  const before = process.cpuUsage()
  await work()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1000
}
