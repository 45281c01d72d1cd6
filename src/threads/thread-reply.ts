import { parentPort } from 'node:worker_threads'
import { AppError, type ErrorCode } from '../contract/errors.ts'
import type { CanonicalPath } from '../contract/field.ts'

/** The reply of a thread. Errors lose their class between threads, so their fields are sent. `failed`: a bug of ours. */
export type ThreadReply<T> =
  | { readonly type: 'done'; readonly result: T }
  | { readonly type: 'refused'; readonly refusal: Refusal }
  | { readonly type: 'failed'; readonly message: string }

type Refusal = { code: ErrorCode; message: string; at: CanonicalPath | undefined; param: string | undefined }

/** Serves requests in a thread of a `ThreadPool`. */
export function serveRequests<Request, Result>(answer: (request: Request) => Result): void {
  parentPort?.on('message', (request: Request) => parentPort?.postMessage(replyOf(() => answer(request))))
  parentPort?.postMessage('ready')
}

function replyOf<Result>(answer: () => Result): ThreadReply<Result> {
  try {
    return { type: 'done', result: answer() }
  } catch (error) {
    if (!(error instanceof AppError)) return { type: 'failed', message: String(error) }
    const { code, template: message, at, param } = error
    return { type: 'refused', refusal: { code, message, at, param } }
  }
}

/** The result in a reply. Throws the failure of a refused request. */
export function resultOf<T>(reply: ThreadReply<T>): T {
  switch (reply.type) {
    case 'done':
      return reply.result
    case 'refused': {
      const { code, message, at, param } = reply.refusal
      throw new AppError(code, message, { ...(at !== undefined && { at }), ...(param !== undefined && { param }) })
    }
    case 'failed':
      throw AppError.from(new Error(`a thread failed: ${reply.message}`))
  }
}
