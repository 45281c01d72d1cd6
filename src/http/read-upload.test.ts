import { PassThrough, type Readable } from 'node:stream'
import { expect, test } from 'vitest'
import { AppError } from '../contract/errors.ts'
import { readUpload } from './read-upload.ts'

const headers = { 'content-type': 'multipart/form-data; boundary=b' }
const start = '--b\r\ncontent-disposition: form-data; name="file"; filename="a"\r\n\r\nabc'

/** An upload whose file has begun to arrive. */
async function begin(signal = new AbortController().signal) {
  const body = new PassThrough()
  let onFileError: (error: unknown) => void = () => undefined
  const fileError = new Promise((resolve) => {
    onFileError = resolve
  })
  const taking = ({ bytes }: { readonly bytes: Readable }) =>
    new Promise<void>((_, reject) => bytes.resume().once('error', reject).once('error', onFileError))
  const result = readUpload({ headers, body, signal }, taking)
  body.write(start)
  return { body, result, fileError }
}

test('a client that leaves is a cancelled upload, not a failure of this server', async () => {
  const { body, result, fileError } = await begin()
  setImmediate(() => body.destroy(Object.assign(new Error('aborted'), { code: 'ECONNRESET' })))
  await expect(result).rejects.toMatchObject({ code: 'cancelled' })
  // What takes the file ends, too.
  expect(await fileError).toMatchObject({ code: 'cancelled' })
})

test('other failures of the connection are what they are', async () => {
  const { body, result, fileError } = await begin()
  setImmediate(() => body.destroy(new Error('odd')))
  await expect(result).rejects.toThrow('odd')
  expect(await fileError).toMatchObject({ code: 'internal' })
})

test('a cancel before or during the upload is its reason', async () => {
  const reason = new AppError('cancelled', 'enough')
  await expect((await begin(AbortSignal.abort(reason))).result).rejects.toBe(reason)
  const controller = new AbortController()
  const { result, fileError } = await begin(controller.signal)
  setImmediate(() => controller.abort(reason))
  await expect(result).rejects.toBe(reason)
  expect(await fileError).toBe(reason)
})
