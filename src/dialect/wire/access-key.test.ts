import { expect, test } from 'vitest'
import type { AppError } from '../../contract/errors.ts'
import { decodeDownload } from '../tabby/download.ts'
import { decodeLoad } from '../unsloth/requests.ts'

const secret = 'hf_schl\u00fcssel'

test.each([
  ['token', () => decodeDownload({ repo_id: 'owner/repo', token: secret })],
  ['hf_token', () => decodeLoad({ model_path: 'owner/repo', hf_token: secret })],
] as const)('%s that no header can hold is refused, and not repeated', (param, decode) => {
  try {
    decode()
    expect.unreachable()
  } catch (error) {
    expect(error).toMatchObject({ code: 'invalid-request', param })
    expect((error as AppError).message).not.toContain(secret)
  }
})
