import { expect, test } from 'vitest'
import { engineOver, fine, never, refusing, upstream } from '../../../../test/support/upstream/remote-engine.ts'

const entry = (index: number, score: number) => ({ index, score, document: 'x' })

test.each([
  ['an object', { results: [entry(1, 0.9), entry(0, 0.2)], usage: { prompt_tokens: 7 } }, 7],
  ['a list', [entry(1, 0.9), entry(0, 0.2)], 0],
])('scores in %s are in the order of the texts', async (_, reply, inputTokens) => {
  const engine = engineOver([await upstream(refusing(200, JSON.stringify(reply)))])
  expect(await engine.capabilities.ranker?.rank({ query: 'q', texts: ['a', 'b'] }, never)).toMatchObject({
    scores: [0.2, 0.9],
    inputTokens,
  })
})

test('texts without a query are refused by name, without a request', async () => {
  const server = await upstream(fine)
  const ranking = engineOver([server]).capabilities.ranker?.rank({ texts: ['a'] }, never)
  await expect(ranking).rejects.toMatchObject({ code: 'unsupported-field', at: ['query'] })
  expect(server.seen).toEqual([])
})
