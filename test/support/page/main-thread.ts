import type { Page } from 'playwright-core'

export type MainThread = {
  /** Milliseconds of the longest tasks, the longest first; those below 50 ms are not among them. */
  readonly longTasksMs: readonly number[]
  /** Milliseconds that the main thread has worked, by kind of work. */
  readonly workMs: number
  readonly scriptMs: number
  readonly layoutMs: number
  readonly styleMs: number
}

/** What the main thread of a page does while something happens, in time of the processor where Chromium counts it so. */
export async function watchMainThread(page: Page, act: () => Promise<unknown>): Promise<MainThread> {
  const session = await page.context().newCDPSession(page)
  await session.send('Performance.enable', { timeDomain: 'threadTicks' })
  const read = async () => {
    const { metrics } = await session.send('Performance.getMetrics')
    return (name: string) => 1000 * (metrics.find((metric) => metric.name === name)?.value ?? 0)
  }
  await page.evaluate(`{
    window.longTasks = []
    new PerformanceObserver((list) => { for (const { duration } of list.getEntries()) window.longTasks.push(duration) })
      .observe({ type: 'longtask', buffered: false })
  }`)
  const before = await read()
  await act()
  // Entries are delivered when there is nothing else to do.
  await page.evaluate('new Promise((resolve) => setTimeout(() => requestIdleCallback(resolve), 100))')
  const after = await read()
  const longTasksMs = ((await page.evaluate('window.longTasks')) as number[]).sort((a, b) => b - a)
  await session.detach()
  const of = (name: string) => after(name) - before(name)
  return {
    longTasksMs,
    workMs: of('TaskDuration'),
    scriptMs: of('ScriptDuration'),
    layoutMs: of('LayoutDuration'),
    styleMs: of('RecalcStyleDuration'),
  }
}
