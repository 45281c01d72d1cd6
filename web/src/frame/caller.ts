import { call } from '../api/client.ts'
import { returns } from '../api/connection.ts'
import { type Caller, caller } from '../api/session.ts'

/** Asks who the caller is; a server that wants a key says so. What shows data asks for it anew. */
export async function findCaller(): Promise<void> {
  caller.value = await call<Caller>('api/caller')
  returns.value += 1
}
