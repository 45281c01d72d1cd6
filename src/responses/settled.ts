import type { ResponseStatus, StoredResponse } from '../contract/store.ts'

const lostError = {
  code: 'server_error',
  message: 'the server process that ran this response ended before the response was complete; send the request again',
} as const

export function isOver(status: ResponseStatus): boolean {
  return status !== 'queued' && status !== 'in_progress'
}

/** The present state of a response: one whose lease has expired has failed. */
export function settled(response: StoredResponse, nowMs: number): StoredResponse {
  const { status, leaseUntilMs, json } = response
  if (isOver(status) || leaseUntilMs === undefined || leaseUntilMs > nowMs) return response
  return { ...response, status: 'failed', json: { ...json, status: 'failed', error: lostError } }
}
