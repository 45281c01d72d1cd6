import { constants } from 'node:os'
import { AppError } from '../../contract/errors.ts'
import { ensureModelFile } from '../../registry/fetch/fetch-model.ts'
import type { Source } from '../../registry/names/sources.ts'
import { createProgress, type Progress } from '../terminal/progress.ts'

type WantedFile = { readonly id: string; readonly source: readonly Source[]; readonly sha256?: string | undefined }

/** Fetches a file of a model, unless it is present, and shows the progress; Ctrl+C stops it. Returns its path. */
export function fetchShown({ id, source, sha256 }: WantedFile, home: string): Promise<string> {
  return whileShown(({ signal, progress }) =>
    ensureModelFile(source, {
      home,
      signal,
      ...(sha256 !== undefined && { sha256 }),
      onProgress: ({ receivedBytes, totalBytes }) => progress.update(`fetching ${id}`, receivedBytes, totalBytes),
      onNote: (note) => progress.note(note),
    }),
  )
}

type Fetching = { readonly signal: AbortSignal; readonly progress: Progress }

/** Fetches something whose progress is shown; Ctrl+C stops it. */
export async function whileShown<Result>(work: (fetching: Fetching) => Promise<Result>): Promise<Result> {
  const progress = createProgress(process.stderr)
  const controller = new AbortController()
  const stop = (signal: NodeJS.Signals) => {
    process.exitCode = 128 + constants.signals[signal]
    controller.abort(new AppError('cancelled', 'stopped; run it again to resume'))
  }
  const signals = ['SIGINT', 'SIGTERM'] as const
  for (const signal of signals) process.once(signal, stop)
  try {
    return await work({ signal: controller.signal, progress })
  } finally {
    for (const signal of signals) process.off(signal, stop)
    progress.end()
  }
}
