import { expect, test } from 'vitest'
import { listenOnLoopback } from '../../test/support/upstream/loopback.ts'
import { holds, type Row } from './probe/row.ts'
import { rows } from './rows.ts'
import { runRows, Sender } from './run.ts'

const facts = { protocol: 'p', weight: 'slight', feltBy: 'f' } as const
const server = {
  ...{ model: 'm', vectorModel: 'm', contextLength: undefined, slots: undefined },
  ...{ hasEndlessRuns: false, promptSpeed: 1000, tokensPerWord: 1, hasKey: false },
}
/** A check that sends this many different requests. */
const asking = (area: Row['area'], count: number): Row => ({
  ...facts,
  id: `${area}-many`,
  area,
  *steps() {
    for (let index = 0; index < count; index++) yield { path: `/${area}/${index}` }
    return holds
  },
})

test('checks that use up their share of the requests leave the rest to those of cancels, which run last', async () => {
  expect(rows.findIndex(({ area }) => area === 'cancel')).toBe(rows.findLastIndex(({ area }) => area !== 'cancel') + 1)
  const paths: string[] = []
  const { origin, close } = await listenOnLoopback(({ url = '' }, response) => {
    paths.push(url)
    response.setHeader('content-type', 'application/json').end('{"choices":[]}')
  })
  const sender = new Sender({ url: origin, apiKey: undefined }, { mostRequests: 10, mostMs: 60_000 })
  const outcomes: string[] = []
  for await (const { verdict } of runRows([asking('models', 30), asking('cancel', 1)], server, sender))
    outcomes.push(verdict.outcome)
  await close()
  expect(paths.filter((path) => path.startsWith('/models'))).toHaveLength(8)
  expect(outcomes).toEqual(['not-run', 'holds'])
})
