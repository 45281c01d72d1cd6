import type { LlamaModelConfig } from '../config/schema.ts'
import type { Source } from '../registry/names/sources.ts'

/** Finds or fetches a file; resolves with its path. */
export type FetchFile = (sources: readonly Source[]) => Promise<string>

type Adapters = NonNullable<LlamaModelConfig['adapters']>
type Draft = NonNullable<LlamaModelConfig['draft']>

/** The files of a model's adapters, one after another. */
export async function locateAdapters(adapters: Adapters, fetchFile: FetchFile): Promise<{ path: string; scale: number }[]> {
  const located: { path: string; scale: number }[] = []
  for (const { source, scale } of adapters) located.push({ path: await fetchFile(source), scale })
  return located
}

/** The file of a draft model, with its settings. */
export async function locateDraft(
  { source, ...settings }: Draft,
  fetchFile: FetchFile,
): Promise<Omit<Draft, 'source'> & { modelPath: string }> {
  return { modelPath: await fetchFile(source), ...settings }
}
