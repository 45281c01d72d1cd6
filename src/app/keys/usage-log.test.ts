import { expect, test } from 'vitest'
import type { UsageEntry } from '../../contract/store.ts'
import { UsageLog } from './usage-log.ts'

const usage = { inputTokens: 5, cachedInputTokens: 2, outputTokens: 3, reasoningTokens: 0 }
const used = { requests: 1, inputTokens: 5, cachedInputTokens: 2, outputTokens: 3 }
const twice = { requests: 2, inputTokens: 10, cachedInputTokens: 4, outputTokens: 6 }
const none = { requests: 0, inputTokens: 0, cachedInputTokens: 0, outputTokens: 0 }

function open({ failures = 0 } = {}) {
  const written: (readonly UsageEntry[])[] = []
  const reasons: unknown[] = []
  let left = failures
  let nowMs = Date.UTC(2030, 0, 1, 23, 59)
  const log = new UsageLog({
    days: {
      add: async (entries) => {
        if (left-- > 0) throw new Error('away')
        written.push(entries)
      },
      read: async () => written.flat(),
    },
    now: () => nowMs,
    onFailure: (error) => reasons.push(error),
  })
  return { log, written, reasons, setTime: (ms: number) => (nowMs = ms) }
}

test('the uses of a caller are summed by day and model, with those of batches apart, and written together', async () => {
  const { log, written, setTime } = open()
  for (const model of ['m', 'm', 'n']) log.note({ caller: 'ann', model, usage })
  log.note({ caller: 'ann', model: 'n', usage, batch: 'batch_1' })
  log.note({ caller: 'refused', model: 'm' })
  setTime(Date.UTC(2030, 0, 2))
  log.note({ caller: 'ann', model: 'm', usage })
  await log.close()
  expect(written).toEqual([
    [
      { day: '2030-01-01', caller: 'ann', model: 'm', all: twice, batch: none },
      { day: '2030-01-01', caller: 'ann', model: 'n', all: twice, batch: used },
      { day: '2030-01-02', caller: 'ann', model: 'm', all: used, batch: none },
    ],
  ])
})

test('what cannot be written is kept, and is there when it is read later', async () => {
  const { log, reasons } = open({ failures: 1 })
  log.note({ caller: 'ann', model: 'm', usage })
  expect(await log.read({ from: '2030-01-01' })).toEqual([])
  expect(reasons).toEqual([new Error('away')])
  log.note({ caller: 'ann', model: 'm', usage })
  expect(await log.read({ from: '2030-01-01' })).toMatchObject([{ all: twice }])
  await log.close()
})
