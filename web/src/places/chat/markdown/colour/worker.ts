import { findRuns } from './find-runs.ts'

export type ColourJob = { readonly id: number; readonly language: string; readonly code: string }

addEventListener('message', ({ data: { id, language, code } }: MessageEvent<ColourJob>) => {
  findRuns(language, code).then(
    (runs) => postMessage({ id, runs }),
    // Its file could not be fetched: the code stays as it is.
    () => postMessage({ id }),
  )
})
