/** A batch as the page shows it, from either protocol. Times are milliseconds of the epoch. */
export type ShownBatch = {
  readonly id: string
  readonly createdAtMs: number
  /** In the words of its protocol. */
  readonly state: string
  readonly isOpen: boolean
  readonly total: number
  readonly ended: number
  readonly failed: number
  /** Why its requests wait. */
  readonly waits?: string
  readonly cancelPath: string
  /** Where its results are. */
  readonly results: readonly { readonly path: string; readonly name: string; readonly areFailures: boolean }[]
}

/** OpenAI's batch object. */
export type FileBatch = {
  readonly id: string
  readonly status: string
  readonly created_at: number
  readonly output_file_id: string | null
  readonly error_file_id: string | null
  readonly request_counts: { readonly total: number; readonly completed: number; readonly failed: number }
  readonly waiting?: { readonly reason: string }
}

/** Anthropic's. */
export type MessageBatch = {
  readonly id: string
  readonly processing_status: string
  readonly created_at: string
  readonly results_url: string | null
  readonly request_counts: Readonly<Record<'processing' | 'succeeded' | 'errored' | 'canceled' | 'expired', number>>
}

const openStates = ['validating', 'in_progress', 'finalizing', 'cancelling', 'canceling']

/** The newest first. */
export function shownBatches(files: readonly FileBatch[], messages: readonly MessageBatch[]): readonly ShownBatch[] {
  return [...files.map(ofFile), ...messages.map(ofMessages)].sort((one, other) => other.createdAtMs - one.createdAtMs)
}

function ofFile({ id, status, created_at, output_file_id, error_file_id, request_counts, waiting }: FileBatch): ShownBatch {
  const { total, completed, failed } = request_counts
  const resultIn = (file: string | null, kind: 'output' | 'error') =>
    file === null ? [] : [{ path: `v1/files/${file}/content`, name: `${id}_${kind}.jsonl`, areFailures: kind === 'error' }]
  return {
    id,
    createdAtMs: created_at * 1000,
    state: status,
    isOpen: openStates.includes(status),
    total,
    ended: completed + failed,
    failed,
    ...(waiting !== undefined && { waits: waiting.reason }),
    cancelPath: `v1/batches/${id}/cancel`,
    results: [...resultIn(output_file_id, 'output'), ...resultIn(error_file_id, 'error')],
  }
}

function ofMessages({ id, processing_status: state, created_at, results_url, request_counts }: MessageBatch): ShownBatch {
  const { processing, succeeded, errored, canceled, expired } = request_counts
  const ended = succeeded + errored + canceled + expired
  const path = `v1/messages/batches/${id}`
  return {
    id,
    createdAtMs: Date.parse(created_at),
    state,
    isOpen: openStates.includes(state),
    total: processing + ended,
    ended,
    failed: errored,
    cancelPath: `${path}/cancel`,
    results: results_url === null ? [] : [{ path: `${path}/results`, name: `${id}.jsonl`, areFailures: false }],
  }
}
