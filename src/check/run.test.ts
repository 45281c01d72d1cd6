import { expect, test } from 'vitest'
import { listenOnLoopback } from '../../test/support/upstream/loopback.ts'
import { holds, type Row } from './probe/row.ts'
import { rows } from './rows.ts'
import { runRows, Sender } from './run.ts'
import { sendAsk } from './send.ts'

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

test('a reply without end is not read to its end, as events or as bytes', async () => {
  const { origin, close } = await listenOnLoopback(({ url = '' }, response) => {
    response.setHeader('content-type', url === '/events' ? 'text/event-stream' : 'application/octet-stream')
    const write = () => {
      while (!response.destroyed && response.write(`data: "${'x'.repeat(100_000)}"\n\n`));
    }
    response.on('drain', write)
    write()
  })
  for (const path of ['/events', '/bytes']) {
    const { failure, text } = await sendAsk({ url: origin }, { path }, { limitMs: 60_000 })
    expect(failure).toBe('the reply is longer than 8 MiB')
    expect(text.length).toBeLessThan(9_000_000)
  }
  await close()
})

test('a model that writes no text proves nothing where texts are compared', async () => {
  const { origin, close } = await listenOnLoopback(async (request, response) => {
    let body = ''
    for await (const bytes of request) body += bytes
    const { stream = false, max_tokens: most = 50 } = JSON.parse(body || '{}')
    const usage = { prompt_tokens: 5, completion_tokens: Math.min(most, 40), total_tokens: 45 }
    const choice = { index: 0, finish_reason: most < 40 ? 'length' : 'stop' }
    const text = { role: 'assistant', content: '' }
    if (!stream) response.end(JSON.stringify({ choices: [{ ...choice, message: text }], usage }))
    else {
      response.setHeader('content-type', 'text/event-stream')
      response.end(`data: ${JSON.stringify({ choices: [{ ...choice, delta: text }], usage })}\n\ndata: [DONE]\n\n`)
    }
  })
  const ids = ['sampling-greedy', 'sampling-seed', 'sampling-other-seeds', 'streams-same-text', 'limits-max-tokens']
  const sender = new Sender({ url: origin, apiKey: undefined }, { mostRequests: 100, mostMs: 60_000 })
  const outcomes: Record<string, string> = {}
  for await (const { row, verdict } of runRows(
    rows.filter(({ id }) => ids.includes(id)),
    server,
    sender,
  ))
    outcomes[row.id] = verdict.outcome
  await close()
  expect(outcomes).toEqual({ ...Object.fromEntries(ids.map((id) => [id, 'unproven'])), 'limits-max-tokens': 'holds' })
})
