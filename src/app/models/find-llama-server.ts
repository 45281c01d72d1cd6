import type { ConfiguredModel } from '../../config/models.ts'
import { findProgram } from '../../registry/names/find-program.ts'
import { runtimeInUse } from '../../registry/runtimes/installed.ts'

type Place = {
  /** Dragoman's data folder. */
  readonly home: string
  readonly path?: string | undefined
}

/** The llama-server for models outside the configuration: that of a configured model, the build in use, or the one on PATH. */
export function findLlamaServer(
  models: readonly ConfiguredModel[],
  { home, path = process.env.PATH }: Place,
): string | undefined {
  const configured = models.find((model) => model.engine === 'llama-server' && model.binary !== undefined)
  const binary = configured?.engine === 'llama-server' ? configured.binary : undefined
  return binary ?? runtimeInUse(home)?.program ?? findProgram('llama-server', path)
}

/** The llama-server of a model whose configuration names none: the build in use, or the one on PATH. */
export function llamaServerInUse(home: string): string {
  return runtimeInUse(home)?.program ?? 'llama-server'
}
