import { expect, test } from 'vitest'
import { openResponsesServer } from '../../test/support/http/responses-server.ts'

test('a conversation is compacted when it is longer than its request allows, not when it is as long', async () => {
  const { call, create } = await openResponsesServer()
  const input = ['one', 'two', 'three'].map((content, index) => ({ role: index === 1 ? 'assistant' : 'user', content }))
  const { body: count } = await call('POST', '/v1/responses/input_tokens', { model: 'default', input })
  const { input_tokens } = count as { readonly input_tokens: number }
  expect(count).not.toHaveProperty('estimated')
  const typesWith = async (compact_threshold: number) => {
    const { output } = await create({ input, context_management: [{ type: 'compaction', compact_threshold }] })
    return output.map(({ type }) => type)
  }
  expect(await typesWith(input_tokens)).toEqual(['message'])
  expect(await typesWith(input_tokens - 1)).toEqual(['compaction', 'message'])
})
