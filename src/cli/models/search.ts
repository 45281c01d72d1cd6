import { searchHub } from '../../registry/fetch/search-hub.ts'
import { type CataloguedModel, catalogue } from '../../registry/names/catalogue.ts'
import { formatBytes } from '../../registry/names/format-bytes.ts'
import { fitsMemory } from '../../registry/names/memory.ts'
import { type Machine, suggestModels } from '../../registry/names/suggested-models.ts'
import { commandName } from '../terminal/command-name.ts'
import { formatTable } from '../terminal/table.ts'

const answerTimeoutMs = 5000
const mostFound = 20

/** Prints the short names that contain all words of the text, and for a text also repositories of Hugging Face. */
export async function search(text: string, machine: Machine): Promise<void> {
  const words = text.toLowerCase().split(/\s+/)
  const known = catalogue.filter(({ shortName, name }) =>
    words.every((word) => `${shortName} ${name}`.toLowerCase().includes(word)),
  )
  if (known.length > 0) {
    const best = suggestModels(machine)[0]?.shortName
    const proposed = known.some(({ shortName }) => shortName === best) ? '; * is proposed for it' : ''
    console.log(
      `${formatCatalogue(known, best, machine)}\n\n${describeMachine(machine)}${proposed}. ${commandName} run NAME fetches one and chats with it.`,
    )
  }
  if (text === '') return
  const found = await searchHub(text, { env: process.env, limit: mostFound, responseTimeoutMs: answerTimeoutMs })
  if (found.length === 0) {
    console.log(`${known.length > 0 ? '\n' : ''}Hugging Face has no repository with GGUF files of that name`)
    return
  }
  const rows = found.map(({ id, downloads, likes, reads = '' }) => [
    `hf:${id}`,
    formatNumber(downloads),
    formatNumber(likes),
    reads,
  ])
  console.log(`${known.length > 0 ? '\n' : ''}${formatTable(['ON HUGGING FACE', 'DOWNLOADS', 'LIKES', 'ALSO READS'], rows)}`)
}

/** `*` marks `best`, the most able model that runs here at reading speed. */
function formatCatalogue(models: readonly CataloguedModel[], best: string | undefined, { memoryBytes }: Machine): string {
  const rows = models.map(({ shortName, name, sizeBytes, trained, abilities }) => {
    const fits = fitsMemory(sizeBytes, memoryBytes) ? 'yes' : 'no'
    return [
      `${shortName}${shortName === best ? ' *' : ''}`,
      name,
      formatBytes(sizeBytes),
      String(trained),
      fits,
      abilities.join(', '),
    ]
  })
  return formatTable(['NAME', 'MODEL', 'SIZE', 'TRAINED FOR', 'FITS', 'ABILITIES'], rows)
}

function describeMachine({ cores, memoryBytes, gpuBytes }: Machine): string {
  const gpu = gpuBytes === undefined || gpuBytes === 0 ? 'no GPU' : `a GPU with ${formatBytes(gpuBytes)}`
  return `This machine has ${cores} ${cores === 1 ? 'core' : 'cores'}, ${formatBytes(memoryBytes)} of memory and ${gpu}`
}

function formatNumber(count: number): string {
  return count >= 10_000 ? `${Math.round(count / 1000)}k` : String(count)
}
