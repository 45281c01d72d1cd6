import inject from 'light-my-request'
import { expect, test } from 'vitest'
import { anyone } from '../../../test/support/http/context.ts'
import { openTestServer } from '../../../test/support/http/test-server.ts'
import { AppError } from '../../contract/errors.ts'
import { createFakeEngine } from '../../engine/fake/engine.ts'
import type { Sender } from '../check-requests.ts'

const engine = {
  ...createFakeEngine({ script: 'from-request' }),
  prepare: async () => ({ run: () => Promise.reject(new AppError('invalid-output', 'it breaks its schema')) }),
}

// Anthropic's errors have no code: a batch would take an answer that breaks its schema for a server that is away.
test.each(['/v1/chat/completions', '/v1/completions', '/v1/messages', '/v1/responses'])(
  'who sends a line without a socket learns why it failed: %s',
  async (url) => {
    const { app, answer } = openTestServer({ engine })
    const failures: string[] = []
    const sender: Sender = {
      principal: anyone,
      batch: 'b',
      onRead: () => undefined,
      onFailed: (code) => failures.push(code),
    }
    await app.ready()
    const prompts: Readonly<Record<string, object>> = {
      '/v1/completions': { prompt: 'hi' },
      '/v1/responses': { input: 'hi', store: false },
    }
    const payload = { model: 'default', ...(prompts[url] ?? { max_tokens: 9, messages: [{ role: 'user', content: 'hi' }] }) }
    const reply = await inject((request, response) => answer(request, response, sender), { method: 'POST', url, payload })
    expect([reply.statusCode, failures]).toEqual([502, ['invalid-output']])
  },
)
