import { call } from '../api/client.ts'
import { returns } from '../api/connection.ts'
import { type Caller, caller } from '../api/session.ts'

/** Asks the server who the caller is; it may require a key. Components then fetch their data again. */
export async function findCaller(): Promise<void> {
  caller.value = await call<Caller>('api/caller')
  returns.value += 1
}
