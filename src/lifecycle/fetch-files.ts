import { stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { LoadedModel } from '../config/models.ts'
import type { LlamaModelConfig } from '../config/schema.ts'
import type { LoadProgress } from '../contract/lifecycle.ts'
import type { DownloadProgress } from '../registry/fetch/download.ts'
import { ensureModelFile } from '../registry/fetch/fetch-model.ts'
import type { Source } from '../registry/names/sources.ts'

export type FetchOptions = {
  readonly home: string
  readonly signal: AbortSignal
  readonly token: string | undefined
  readonly env: Readonly<Record<string, string | undefined>>
  onProgress(progress: LoadProgress): void
}

type Wanted = { readonly sources: readonly Source[]; readonly sha256?: string | undefined }

/** The files of a model: that of the model first. */
export type ModelFiles = { readonly paths: readonly string[]; readonly sizeBytes: number }

/** Fetches and checks the files that a model needs; one that needs none has none. Rejects as `ensureModelFile`. */
export async function fetchFiles(config: LoadedModel, options: FetchOptions): Promise<ModelFiles> {
  const { home, signal, token, env, onProgress } = options
  const report = (phase: LoadProgress['phase']) => (progress: DownloadProgress) => onProgress(describe(phase, progress))
  const paths: string[] = []
  for (const { sources, sha256 } of filesOf(config)) {
    const path = await ensureModelFile(sources, {
      home,
      signal,
      sha256,
      env: token === undefined ? env : { ...env, HF_TOKEN: token },
      onProgress: report('downloading'),
      onVerify: report('verifying'),
    })
    paths.push(path)
  }
  return { paths, sizeBytes: await sizeOf(paths) }
}

/** The share of bytes as a load's progress. */
export function describe(phase: LoadProgress['phase'], { receivedBytes, totalBytes = 0 }: DownloadProgress): LoadProgress {
  const fraction = totalBytes === 0 ? 0 : Math.min(1, receivedBytes / totalBytes)
  return { phase, doneBytes: receivedBytes, totalBytes, fraction }
}

function filesOf(config: LoadedModel): readonly Wanted[] {
  switch (config.engine) {
    case 'llama':
      return [{ sources: config.source, sha256: config.sha256 }, ...adaptersOf(config)]
    case 'llama-server': {
      const others = [config.mmproj, config.draft?.source].filter((sources) => sources !== undefined)
      return [{ sources: config.source, sha256: config.sha256 }, ...others.map((sources) => ({ sources })), ...adaptersOf(config)]
    }
    case 'remote':
    case 'fake':
      return []
  }
}

function adaptersOf({ adapters = [] }: Pick<LlamaModelConfig, 'adapters'>): readonly Wanted[] {
  return adapters.map(({ source }) => ({ sources: source }))
}

/** The bytes that are loaded: of a split model, all parts. */
async function sizeOf(paths: readonly string[]): Promise<number> {
  const sizes = await Promise.all(
    paths.flatMap(partsOf).map((path) =>
      stat(path).then(
        ({ size }) => size,
        // Gone since it was checked: the engine says so.
        () => 0,
      ),
    ),
  )
  return sizes.reduce((sum, size) => sum + size, 0)
}

function partsOf(path: string): readonly string[] {
  const [, stem, count] = /([^/\\]*)-00001-of-(\d{5})\.gguf$/i.exec(path) ?? []
  if (stem === undefined) return [path]
  const number = (index: number) => String(index + 1).padStart(5, '0')
  return Array.from({ length: Number(count) }, (_, index) => join(dirname(path), `${stem}-${number(index)}-of-${count}.gguf`))
}
