import { symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { type RunningApp, startApp } from '../../../test/support/http/app.ts'
import { canMount, mountHint, smallDisk } from '../../../test/support/process/small-disk.ts'

let app: RunningApp
beforeAll(async () => {
  app = await startApp({ builtinModel: false, models: [{ engine: 'fake', id: 'echo', script: 'from-request' }] })
})
afterAll(() => app.close())

const form = 'multipart/form-data; boundary=b'
const json = 'application/json'
const file = '--b\r\ncontent-disposition: form-data; name="file"; filename="a"\r\n\r\nx\r\n--b--\r\n'
const noForm = "the content type is 'application/json': send multipart/form-data, with the file in the field 'file'"

async function messageIn(response: Response): Promise<string> {
  const { error } = (await response.json()) as { error: { message: string } }
  return error.message
}

type Refusal = readonly [path: string, type: string, body: string, status: number, message: string]

test.each<Refusal>([
  ['/v1/files', json, '{}', 415, noForm],
  ['/v1/files', 'multipart/form-data', file, 400, 'the content type has no boundary: send multipart/form-data; boundary=…'],
  ['/v1/files', form, 'x', 400, 'the body is not valid multipart/form-data: Unexpected end of multipart data'],
  ['/v1/files', form, '--b--', 400, "the form has no file: send it in the field 'file'"],
  ['/v1/files', form, file.replace('"file"', '"a"'), 400, "the file is in the field 'a': send it in the field 'file'"],
  ['/v1/files', form, file, 400, 'purpose is missing: expected one of vision, user_data, batch'],
  ['/v1/audio/transcriptions', json, '{}', 415, noForm],
  ['/v1/audio/translations', form, '--b--', 400, "the form has no file: send it in the field 'file'"],
  [
    '/v1/audio/transcriptions',
    form,
    file,
    400,
    // The scripted model hears.
    'file is not audio that can be read: by its bytes it is of no known type; send audio such as WAV, MP3, FLAC, Ogg or MP4',
  ],
  ['/v1/audio/speech', json, '[]', 400, 'the request body: expected an object, got []'],
  ['/v1/audio/speech', json, '{"model":5}', 400, 'model: expected a string, got 5'],
  ['/v1/images/generations', json, '{"model":""}', 400, 'model: expected a non-empty string, got ""'],
])('%s refuses %s %s', async (path, type, body, status, message) => {
  const response = await fetch(`${app.url}${path}`, { method: 'POST', headers: { 'content-type': type }, body })
  expect([response.status, await messageIn(response)]).toEqual([status, message])
})

test('a method that is not there is refused in the form of the protocol', async () => {
  const refusal = async (headers: Record<string, string>) => {
    const response = await fetch(`${app.url}/v1/files`, { method: 'DELETE', headers })
    return [response.status, response.headers.get('allow'), await response.json()]
  }
  const message = 'DELETE is not allowed here; allowed: POST, GET, HEAD'
  const allowed = 'POST, GET, HEAD'
  expect(await refusal({})).toEqual([405, allowed, { error: expect.objectContaining({ message, code: 'method_not_allowed' }) }])
  expect(await refusal({ 'anthropic-version': '2023-06-01' })).toEqual([
    405,
    allowed,
    { type: 'error', request_id: expect.any(String), error: expect.objectContaining({ message }) },
  ])
})

test.each([
  ['limit=0', 'limit: expected an integer from 1 to 10000, got "0"'],
  ['order=up', 'order: expected asc or desc, got "up"'],
  ['after=x', 'after: expected the id of one of your files, got "x"'],
])('a list of files with %s is refused', async (query, message) => {
  const response = await fetch(`${app.url}/v1/files?${query}`)
  expect([response.status, await messageIn(response)]).toEqual([400, message])
})

test.skipIf(!canMount)(`a full disk is said as one, in the form of the protocol${mountHint}`, async () => {
  const { folder, fill, free } = await smallDisk()
  const other = await startApp({ models: [{ engine: 'fake', id: 'echo', script: 'from-request' }], builtinModel: false })
  onTestFinished(() => other.close())
  await symlink(folder, join(other.home, 'files'))
  fill()
  const upload = async (headers: Record<string, string>) => {
    const body = new FormData()
    body.set('purpose', 'user_data')
    body.set('file', new Blob(['x'.repeat(5000)]), 'a.txt')
    const response = await fetch(`${other.url}/v1/files`, { method: 'POST', headers, body })
    return [response.status, await response.json()]
  }
  const message = 'the disk of this server is full; try again once there is room'
  expect(await upload({})).toEqual([503, { error: expect.objectContaining({ message, code: 'store_unavailable' }) }])
  const error = expect.objectContaining({ message, type: 'overloaded_error' })
  expect(await upload({ 'anthropic-version': '2023-06-01' })).toEqual([529, expect.objectContaining({ error })])
  free()
  expect((await upload({}))[0]).toBe(200)
})

test.skipIf(process.platform !== 'linux')('a folder that the system refuses is said as one', async () => {
  const other = await startApp({ models: [{ engine: 'fake', id: 'echo', script: 'from-request' }], builtinModel: false })
  onTestFinished(() => other.close())
  // Where nobody may make folders, root included.
  await symlink('/sys', join(other.home, 'files'))
  const body = new FormData()
  body.set('purpose', 'user_data')
  body.set('file', new Blob(['x']), 'a.txt')
  const response = await fetch(`${other.url}/v1/files`, { method: 'POST', body })
  const message = 'the system does not let this server use a folder of its own; the log names it'
  expect([response.status, await messageIn(response)]).toEqual([503, message])
})
