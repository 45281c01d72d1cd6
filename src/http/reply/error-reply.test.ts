import { expect, test } from 'vitest'
import { AppError } from '../../contract/errors.ts'
import { allScopes, type Principal } from '../../contract/principal.ts'
import { hidePaths, shownTo } from './error-reply.ts'

test.each([
  [
    "model 'm' could not be loaded: /home/me/models/nope.gguf: there is no such file",
    "model 'm' could not be loaded: …/nope.gguf: there is no such file",
  ],
  ["cannot read its script '/etc/dragoman/replies.yaml': ENOENT", "cannot read its script '…/replies.yaml': ENOENT"],
  ['C:\\models\\a.gguf is truncated', '…/a.gguf is truncated'],
  ['tried ~/models/a.gguf, then /srv/b.gguf', 'tried …/a.gguf, then …/b.gguf'],
  [
    'see https://host.example/a/b and http://10.0.0.1:8000/v1/models',
    'see https://host.example/a/b and http://10.0.0.1:8000/v1/models',
  ],
  [
    'hf:owner/repo/file.gguf and POST /v1/models are no paths of files',
    'hf:owner/repo/file.gguf and POST /v1/models are no paths of files',
  ],
])('%s', (message, shown) => {
  expect(hidePaths(message)).toBe(shown)
})

test('only who may administrate the server reads where its files are; what a caller sent is shown as it is', () => {
  const user: Principal = { id: 'user', scopes: new Set(['inference']) }
  const failed = new AppError('internal', 'cannot read /srv/models/a.gguf')
  const refused = new AppError('invalid-request', 'there is no /srv/models/a.gguf')
  const read = (principal: Principal | undefined, error: AppError) => shownTo(principal, error).message
  expect([read(undefined, failed), read(user, failed)]).toEqual(['cannot read …/a.gguf', 'cannot read …/a.gguf'])
  expect(read({ id: 'admin', scopes: allScopes }, failed)).toBe(failed.message)
  expect(read(user, refused)).toBe(refused.message)
})
