import type { Command } from 'commander'
import { printable } from '../../app/log/printable.ts'
import { rootOf } from '../../base/text/server-url.ts'
import type { LoadedConfig } from '../../config/load.ts'
import { catalogue } from '../../registry/names/catalogue.ts'
import { listModels } from '../servers/client.ts'
import { type Candidate, complete, startsLike, type Wanted } from './complete.ts'
import type { Shell } from './shells.ts'

type CompletionRequest = {
  readonly shell: Shell
  /** The words after the name of the program, up to the cursor. */
  readonly words: readonly string[]
  readonly server: string
  readonly loadConfig: () => Promise<LoadedConfig>
}

/** The shell waits for it. */
const serverTimeoutMs = 1000

/** Prints the completions at the cursor, one per line, for the scripts of the shells. */
export async function printCompletions(program: Command, { shell, words, ...sources }: CompletionRequest): Promise<void> {
  const completion = complete(program, words)
  const found = completion.type === 'candidates' ? completion.candidates : await namesOf(completion.wanted, sources)
  for (const candidate of found.filter(startsLike(words.at(-1) ?? ''))) console.log(formatCandidate(shell, candidate))
}

async function namesOf(
  wanted: Wanted,
  { server, loadConfig }: Pick<CompletionRequest, 'server' | 'loadConfig'>,
): Promise<readonly Candidate[]> {
  if (wanted === 'stored') {
    const { listStored } = await import('../../registry/fetch/stored-models.ts')
    return listStored((await loadConfig()).home).map(({ source }) => ({ value: source, description: 'on this disk' }))
  }
  const address = { url: rootOf(server), apiKey: process.env.DRAGOMAN_API_KEY }
  const cards = await listModels(address, { signal: AbortSignal.timeout(serverTimeoutMs) }).catch(() => [])
  const served = cards.flatMap(({ id, aliases = [] }) => [id, ...aliases.filter((alias) => !alias.includes('*'))])
  const known = catalogue.map(({ shortName, name }) => ({ value: shortName, description: name }))
  return [...served.map((value) => ({ value, description: 'a model of the server' })), ...known]
}

function formatCandidate(shell: Shell, { value, description }: Candidate): string {
  switch (shell) {
    case 'bash':
      return printable(value)
    case 'zsh':
      return printable(`${value.replaceAll(':', '\\:')}${description === '' ? '' : `:${description}`}`)
    case 'fish':
      return `${printable(value)}\t${printable(description)}`
  }
}
