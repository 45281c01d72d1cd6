import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { roomFor } from '../../app/models/memory/memory-sharing.ts'
import { thisMachine } from '../../app/offers/this-machine.ts'
import type { LoadedConfig } from '../../config/load.ts'
import { readModelsFolder } from '../../registry/fetch/models-folder.ts'
import { chooseContext } from '../../registry/gguf/choose-context.ts'
import { builtinFileNames } from '../../registry/names/builtin-model.ts'
import { formatBytes } from '../../registry/names/format-bytes.ts'
import { budgetBytes } from '../../registry/names/memory.ts'
import { type Machine, type SuggestedModel, suggestModels } from '../../registry/names/suggested-models.ts'
import type { Agent } from '../agents/agent.ts'
import { needOf, planRoom } from '../agents/agent-need.ts'
import { commandName } from '../terminal/command-name.ts'

/** A model file on this disk with room for the agent. */
type FileHere = { readonly path: string; readonly sizeBytes: number; readonly trained: number }

type Proposal = {
  readonly agent: Pick<Agent, 'title' | 'command'>
  readonly tokens: number
  readonly machine: Machine
  readonly here: readonly FileHere[]
  readonly toFetch: readonly SuggestedModel[]
}

const mostHere = 5
const mostToFetch = 2

/** Proposals for an agent without a running server and a named model: one line for each model that fits this machine. */
export async function proposeModels(agent: Agent, config: LoadedConfig): Promise<string> {
  const { tokens } = needOf(agent)
  const machine = await thisMachine(config.home)
  const here = await findFiles(agent, config)
  return formatProposal({ agent, tokens, machine, here, toFetch: suggestModels(machine, tokens) })
}

function formatProposal({ agent, tokens, machine, here, toFetch }: Proposal): string {
  const gpu = machine.gpuBytes === undefined || machine.gpuBytes === 0 ? 'no GPU' : `a GPU with ${formatBytes(machine.gpuBytes)}`
  const command = (source: string) => `  ${commandName} launch ${agent.command} --model ${source}`
  const files = here.slice(0, mostHere).map(({ path, sizeBytes, trained }) => {
    return [command(path), `    here, ${formatBytes(sizeBytes)}, trained for ${trained} tokens`]
  })
  const downloads = toFetch.slice(0, mostToFetch).map(({ name, shortName, sizeBytes, trained }) => {
    return [command(shortName), `    ${name}, about ${formatBytes(sizeBytes)} to fetch, trained for ${trained} tokens`]
  })
  const found = [...files, ...downloads]
  const those = found.length === 0 ? 'None that Dragoman knows fits' : 'These fit'
  return [
    `name a model with --model: no server runs, and none is configured. ${those} this machine (${machine.cores} cores, ` +
      `${formatBytes(machine.memoryBytes)} of memory, ${gpu}) with the ${tokens} tokens that ${agent.title} needs:`,
    ...found.flat(),
    command(`builtin:${builtinFileNames[0]}`),
    '    comes with Dragoman, too small for real work: it shows that everything starts',
  ].join('\n')
}

/** The files of the configured models folder and the fetched ones that have room for the agent, the largest first. */
async function findFiles(agent: Agent, { home, modelsFolder, memory }: LoadedConfig): Promise<readonly FileHere[]> {
  const folders = [modelsFolder, join(home, 'models')].filter((folder) => folder !== undefined && existsSync(folder))
  const room = roomFor(budgetBytes(memory.budget), 1)
  const found: FileHere[] = []
  for (const { path, sizeBytes } of folders.flatMap((folder) => readModelsFolder(folder as string))) {
    const plan = { modelPath: path, slots: 4, flashAttention: true, processBytes: 0 }
    const choice = await chooseContext(plan, room).catch(() => undefined)
    if (choice === undefined) continue
    const { contextLength, trainedContextLength: trained, longest } = choice
    if (planRoom(needOf(agent), { contextLength, trained, longest }).type !== 'too-small')
      found.push({ path, sizeBytes, trained })
  }
  return found.toSorted((a, b) => b.sizeBytes - a.sizeBytes)
}
