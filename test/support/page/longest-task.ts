import type { Browser } from 'playwright-core'

type TraceEvent = {
  readonly name: string
  readonly pid: number
  readonly tid: number
  readonly tdur?: number
  readonly args?: { readonly name?: string }
}

/** The longest task of the pages' main threads in Chromium while something happens, in milliseconds of the processor. */
export async function longestTaskMs(browser: Browser, act: () => Promise<unknown>): Promise<number> {
  const session = await browser.newBrowserCDPSession()
  const events: TraceEvent[] = []
  session.on('Tracing.dataCollected', ({ value }) => void events.push(...(value as unknown as TraceEvent[])))
  await session.send('Tracing.start', { traceConfig: { includedCategories: ['toplevel'] } })
  await act()
  const complete = new Promise((resolve) => session.once('Tracing.tracingComplete', resolve))
  await session.send('Tracing.end')
  await complete
  await session.detach()
  const threadOf = ({ pid, tid }: TraceEvent) => `${pid}/${tid}`
  const main = new Set(
    events.flatMap((event) => (event.name === 'thread_name' && event.args?.name === 'CrRendererMain' ? threadOf(event) : [])),
  )
  const tasks = events.filter((event) => event.name.endsWith('RunTask') && main.has(threadOf(event)))
  if (tasks.length === 0) throw new Error('the trace has no tasks of a page')
  return tasks.reduce((longest, { tdur = 0 }) => Math.max(longest, tdur / 1000), 0)
}
