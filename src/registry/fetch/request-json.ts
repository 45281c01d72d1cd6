import { AppError } from '../../contract/errors.ts'
import { createWatchdog, type FileRequestOptions, requestFile } from './file-request.ts'

const mostBytes = 4_000_000

/** The JSON at an address. Throws `model-unavailable` with the host. */
export async function requestJson(
  request: FileRequestOptions,
  signal: AbortSignal | undefined,
): Promise<{ readonly body: unknown; readonly host: string }> {
  const watchdog = createWatchdog(signal)
  try {
    const { response, host } = await requestFile(request, watchdog)
    const { responseTimeoutMs } = request
    watchdog.within(responseTimeoutMs, `${host} did not send its reply within ${responseTimeoutMs / 1000} s`)
    const tooLong = () => new AppError('model-unavailable', `${host} sent a reply that is too long`)
    const text = await readText(response, { host, mostBytes, signal: watchdog.signal, tooLong })
    try {
      return { body: JSON.parse(text), host }
    } catch (error) {
      throw new AppError('model-unavailable', `the reply of ${host} is not JSON`, { cause: error })
    }
  } finally {
    watchdog.end()
  }
}

type Reading = {
  readonly host: string
  readonly mostBytes: number
  readonly signal: AbortSignal
  readonly tooLong: () => AppError
}

/** The text of a reply. Throws `tooLong` for one with more bytes than it may have, and `model-unavailable` for a lost connection. */
export async function readText({ body }: Response, { host, mostBytes, signal, tooLong }: Reading): Promise<string> {
  const decoder = new TextDecoder()
  let text = ''
  let length = 0
  try {
    for await (const bytes of body ?? []) {
      length += bytes.byteLength
      if (length > mostBytes) throw tooLong()
      text += decoder.decode(bytes, { stream: true })
    }
  } catch (error) {
    if (signal.aborted) throw signal.reason
    if (error instanceof AppError) throw error
    throw new AppError('model-unavailable', `the connection to ${host} was lost; try again`, { cause: error })
  }
  return text
}
