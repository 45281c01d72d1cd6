import { printable } from '../../app/log/printable.ts'
import type { LoadedConfig } from '../../config/load.ts'
import { listStored } from '../../registry/fetch/stored-models.ts'
import { catalogue } from '../../registry/names/catalogue.ts'
import { formatBytes } from '../../registry/names/format-bytes.ts'
import { recallChoice } from '../../registry/names/repository-choice.ts'
import { formatSource, parseSource } from '../../registry/names/sources.ts'
import { isServing, listModels, type ModelCard, type ServerAddress } from '../servers/client.ts'
import { formatTable } from '../terminal/table.ts'

type ListOptions = {
  readonly server: ServerAddress
  /** The user named this server: without it, there is nothing to list. */
  readonly isServerNamed: boolean
  readonly loadConfig: () => Promise<LoadedConfig>
}

/** Prints the models of the running server, if any, and those fetched to this disk, by the names that other commands accept. */
export async function list({ server, isServerNamed, loadConfig }: ListOptions): Promise<void> {
  if (isServerNamed || (await isServing(server))) console.log(formatModels(await listModels(server)))
  else console.log(`no server runs at ${printable(server.url)}`)
  if (isServerNamed) return
  const { home } = await loadConfig()
  const stored = listStored(home)
  if (stored.length === 0) return
  const shortNames = await shortNamesOf(home)
  const rows = stored.map(({ source, sizeBytes }) => {
    const shortName = shortNames.get(source)
    return shortName === undefined ? [source, formatBytes(sizeBytes)] : [shortName, formatBytes(sizeBytes), source]
  })
  console.log(`\n${formatTable(['ON DISK', 'SIZE', 'SOURCE'], rows)}`)
}

/** The short names of fetched files, by source; a repository's is the file chosen for this machine. */
async function shortNamesOf(home: string): Promise<ReadonlyMap<string, string>> {
  const names = new Map<string, string>()
  for (const { source, shortName } of catalogue) {
    const repository = parseSource(source)
    const chosen = repository.type === 'hf-repository' ? await recallChoice(repository, home) : undefined
    if (chosen !== undefined) names.set(formatSource(chosen), shortName)
  }
  return names
}

function formatModels(models: readonly ModelCard[]): string {
  const rows = models.map(({ id, state, context_length: contextLength, aliases }) => {
    return [id, state ?? '-', contextLength === undefined ? '-' : String(contextLength), aliases?.join(', ') ?? '']
  })
  return formatTable(['MODEL', 'STATE', 'CONTEXT', 'ALIASES'], rows)
}
