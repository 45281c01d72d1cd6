import type { BatchForm, BatchState, LineEnding } from '../contract/server/batches.ts'
import type { ResponseStatus } from '../contract/store.ts'

/**
 * The tables, the same on SQLite and PostgreSQL. Times are milliseconds of the epoch, JSON is text, flags are 0 or 1. `size_bytes` counts
 * the JSON of a row and of its dependent rows.
 */
export type Tables = {
  responses: ResponseTable
  response_items: ResponseItemTable
  response_metadata: ResponseMetadataTable
  response_events: ResponseEventTable
  conversations: ConversationTable
  conversation_items: ConversationItemTable
  key_usage: KeyUsageTable
  usage_days: UsageDayTable
  documents: DocumentTable
  files: FileTable
  file_pieces: FilePieceTable
  batches: BatchTable
  batch_lines: BatchLineTable
}

/** The expiry of data that does not expire: a number, so that one comparison is enough. */
export const never = Number.MAX_SAFE_INTEGER

export const runningStatuses = ['queued', 'in_progress'] as const satisfies readonly ResponseStatus[]

/** A chat completion is a row like a response that has ended. */
export type StoredKind = 'response' | 'completion'

type ResponseTable = {
  id: string
  kind: StoredKind
  owner: string
  /** As in `json`. */
  model: string | null
  created_at: number
  expires_at: number
  status: ResponseStatus
  json: string
  previous_id: string | null
  conversation_id: string | null
  lease_until: number | null
  cancel_requested: number
  size_bytes: number
}

/** In the order of `is_output` and `position`. */
type ResponseItemTable = { response_id: string; is_output: number; position: number; item_id: string; json: string }

/** As in `json`, for lists filtered by an entry. */
type ResponseMetadataTable = { response_id: string; key: string; value: string }

type ResponseEventTable = { response_id: string; sequence: number; json: string }

type ConversationTable = {
  id: string
  owner: string
  created_at: number
  changed_at: number
  expires_at: number
  metadata: string
  /** The position of the next item. Adding items begins with increasing it, which locks the row. */
  next_position: number
  size_bytes: number
}

type ConversationItemTable = { conversation_id: string; position: number; item_id: string; json: string }

/**
 * The usage of an account in the period that ends at `ends_at`. The account is the hash of a key, or the name of a group, with its day or
 * month; accounts of minutes exist only on PostgreSQL.
 */
type KeyUsageTable = { account: string; requests: number; tokens: number; is_stretched: number; ends_at: number }

/** The columns of batches are parts of the others. */
type UsageDayTable = {
  day: string
  caller: string
  model: string
  requests: number
  input_tokens: number
  cached_tokens: number
  output_tokens: number
  batch_requests: number
  batch_input_tokens: number
  batch_cached_tokens: number
  batch_output_tokens: number
}

/** Operators' changes on running servers; only on PostgreSQL. */
type DocumentTable = { name: string; version: number; json: string }

/** Uploads; only on PostgreSQL. Without `json`, the bytes are still arriving. */
type FileTable = { owner: string; id: string; created_at: number; json: string | null }

type FilePieceTable = { file_id: string; position: number; bytes: Uint8Array }

/** `json` has what no query asks for. `size_bytes`: the replies of its lines. */
type BatchTable = {
  id: string
  owner: string
  form: BatchForm
  state: BatchState
  created_at: number
  expires_at: number
  json: string
  total: number
  succeeded: number
  errored: number
  cancelled: number
  expired: number
  input_tokens: number
  cached_tokens: number
  output_tokens: number
  reasoning_tokens: number
  size_bytes: number
}

/** `body` until the line has ended, `reply` from then on. A line that runs has a runner. */
type BatchLineTable = {
  batch_id: string
  line: number
  custom_id: string
  model: string
  grouping: string
  body: string | null
  attempts: number
  not_before: number
  runner: string | null
  lease_until: number | null
  ending: LineEnding | null
  status: number | null
  request_id: string | null
  reply: string | null
}
