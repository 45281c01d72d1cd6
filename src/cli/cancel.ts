import { given } from '../base/json.ts'
import { AppError } from '../contract/errors.ts'
import { cancelRuns, type ServerAddress } from './servers/client.ts'

export type CancelFlags = {
  readonly cancelId?: string | undefined
  readonly id?: string | undefined
  readonly session?: string | undefined
}

/** Cancels requests of the running server. Returns the exit code: 1 if nothing was cancelled. */
export async function cancel(server: ServerAddress, { cancelId, id, session }: CancelFlags): Promise<number> {
  if (cancelId === undefined && id === undefined && session === undefined) {
    throw new AppError('invalid-request', 'name what to cancel: --id, --session or --cancel-id')
  }
  if (cancelId !== undefined && (id ?? session) !== undefined) {
    throw new AppError('invalid-request', '--cancel-id names one request: leave out --id and --session')
  }
  const count = await cancelRuns(server, {
    ...given({ cancel_id: cancelId, session_id: session, completion_id: id }),
  })
  if (count > 0) console.log(`cancelled ${count} ${count === 1 ? 'request' : 'requests'}`)
  else if (cancelId === undefined) console.error('nothing was cancelled: no request of this key runs by that name')
  else console.error('no request of this key runs with that cancel id; one that arrives within 30 seconds is cancelled')
  return count > 0 ? 0 : 1
}
