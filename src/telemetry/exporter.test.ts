import { setImmediate as turn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { type ExporterOptions, type SendResult, SpanExporter } from './exporter.ts'

/** An exporter whose collector gives these answers, the last one again and again, and whose pauses end by `endPause`. */
function create(answers: readonly (SendResult | Error | 'never')[], options: Partial<ExporterOptions> = {}) {
  const sent: number[] = []
  const pauses: number[] = []
  const said: string[] = []
  let waiting: (() => void) | undefined
  const exporter = new SpanExporter({
    send: (spans) => {
      sent.push(spans.length)
      const answer = answers[Math.min(sent.length, answers.length) - 1] ?? { status: 200 }
      if (answer === 'never') return new Promise(() => undefined)
      return answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer)
    },
    wait: (ms, signal) =>
      new Promise((resolve) => {
        pauses.push(ms)
        waiting = resolve
        signal.addEventListener('abort', () => resolve())
      }),
    onAway: (reason) => said.push(`away: ${reason}`),
    onBack: () => said.push('back'),
    ...options,
  })
  const add = (count: number) => {
    for (let index = 0; index < count; index++) exporter.add(`{"n":${index}}`)
  }
  const endPause = async () => {
    waiting?.()
    await turn()
    await turn()
  }
  return { exporter, add, endPause, sent, pauses, said }
}

test('spans wait for others, and are sent together', async () => {
  const { exporter, add, endPause, sent, pauses } = create([{ status: 200 }])
  add(3)
  expect(sent).toEqual([])
  await endPause()
  expect([sent, pauses]).toEqual([[3], [5000]])
  expect(exporter.counts).toEqual({ exported: 3, dropped: 0, failed: 0 })
})

test('a full batch is sent immediately', async () => {
  const { add, sent } = create([{ status: 200 }])
  add(512)
  await turn()
  await turn()
  expect(sent).toEqual([512])
})

test('while the collector is silent, the memory is bounded, and the rest is dropped and counted', async () => {
  const { exporter, add, sent } = create(['never'])
  add(512)
  await turn()
  add(100_000)
  expect(sent).toEqual([512])
  expect(exporter.counts).toEqual({ exported: 0, dropped: 100_000 - 2048, failed: 0 })
})

test.each([429, 502, 503, 504])(
  'a batch that got %d is sent again after a pause, as long as the collector asks',
  async (status) => {
    const { exporter, add, endPause, sent, pauses } = create([{ status, retryAfterMs: 7000 }, { status }, { status: 200 }])
    add(512)
    for (let count = 0; count < 4; count++) await endPause()
    expect(sent).toEqual([512, 512, 512])
    expect(pauses.slice(-2)).toEqual([7000, 2000])
    expect(exporter.counts.exported).toBe(512)
  },
)

test('new spans do not hurry a pause after a failure', async () => {
  const { add, sent, endPause } = create([{ status: 503 }])
  add(512)
  await endPause()
  add(2000)
  await turn()
  expect(sent).toEqual([512])
})

test('a batch is given up after four tries; the log hears of it once, and when batches pass again', async () => {
  const away = new Error('connect ECONNREFUSED')
  const { exporter, add, endPause, sent, said } = create([...Array(8).fill(away), { status: 200 }])
  for (let batch = 0; batch < 3; batch++) {
    add(512)
    for (let count = 0; count < 6; count++) await endPause()
  }
  expect(sent).toHaveLength(9)
  expect(exporter.counts).toEqual({ exported: 512, dropped: 0, failed: 1024 })
  expect(said).toEqual(['away: connect ECONNREFUSED', 'back'])
})

test('a batch that is refused is not sent again', async () => {
  const { exporter, add, endPause, sent } = create([{ status: 400 }])
  add(1)
  await endPause()
  await endPause()
  expect(sent).toEqual([1])
  expect(exporter.counts.failed).toBe(1)
})

test('the end sends what is left', async () => {
  const { exporter, add, sent } = create([{ status: 200 }])
  add(3)
  await exporter.close()
  expect(sent).toEqual([3])
  add(1)
  expect(exporter.counts).toEqual({ exported: 3, dropped: 1, failed: 0 })
})

test('the end does not wait for a collector that is away', async () => {
  const { exporter, add, sent } = create([new Error('away')])
  add(2000)
  await exporter.close()
  expect(sent).toEqual([512])
  expect(exporter.counts.failed).toBe(2000)
})

test('the end waits for a few seconds at most for a collector that is silent', async () => {
  const { exporter, add, pauses, endPause } = create(['never'])
  add(512)
  await turn()
  const closing = exporter.close()
  expect(pauses.at(-1)).toBe(3000)
  await endPause()
  await closing
})
