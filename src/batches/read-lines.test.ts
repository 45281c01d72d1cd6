import { expect, test } from 'vitest'
import type { BatchLine } from '../contract/server/batches.ts'
import { readLines } from './read-lines.ts'

const line = (id: string) =>
  JSON.stringify({ custom_id: id, method: 'POST', url: '/v1/embeddings', body: { model: 'm', input: '\u2028' } })

test.each([
  ['line feeds', [line('1'), line('2')].join('\n')],
  ['Windows line ends, empty lines and a mark of the encoding', `\uFEFF${[line('1'), '', line('2'), ''].join('\r\n')}`],
  ['an empty first line after the mark', `\uFEFF\n${line('1')}\n${line('2')}`],
])('lines are read from a file with %s', async (_, text) => {
  const taken: BatchLine[] = []
  async function* bytes() {
    yield Buffer.from(text)
  }
  const rules = { endpoint: '/v1/embeddings', maxLineBytes: 1000, refuseModel: async () => undefined }
  const faults = await readLines(bytes(), rules, (one) => {
    taken.push(one)
    return undefined
  })
  expect(faults).toEqual([])
  expect(taken.map(({ customId }) => customId)).toEqual(['1', '2'])
})
