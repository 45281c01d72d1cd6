import { expect, test } from 'vitest'
import { AppError } from '../../contract/errors.ts'
import { encodeLlamaServerError } from './errors.ts'

test('a prompt that does not fit has the counts of llama-server', () => {
  const error = new AppError('context-length-exceeded', 'x', { overflow: { inputTokens: 9000, contextLength: 8192 } })
  expect(encodeLlamaServerError(error)).toMatchObject({
    status: 400,
    body: { error: { type: 'exceed_context_size_error', n_prompt_tokens: 9000, n_ctx: 8192, code: 'context_length_exceeded' } },
  })
})

test('other errors are those of OpenAI', () => {
  expect(encodeLlamaServerError(new AppError('model-not-found', 'x'))).toMatchObject({
    status: 404,
    body: { error: { type: 'invalid_request_error', code: 'model_not_found', message: 'x' } },
  })
})
