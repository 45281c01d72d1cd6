/** The names of a model, as far as names are compared. */
type Named = { readonly id: string; readonly aliases: readonly string[] }

const defaultTag = ':latest'

/** An id as Ollama's lists show names: always with a tag. */
export function taggedName(id: string): string {
  return id.slice(id.lastIndexOf('/') + 1).includes(':') ? id : id + defaultTag
}

/** The name, in the letters that a model has; Ollama compares without regard to case. As it is where no model has it. */
export function spelledAs(models: readonly Named[], name: string): string {
  const all = models.flatMap(({ id, aliases }) => [id, ...aliases])
  const wanted = name.trim().toLowerCase()
  const spellings = [wanted, ...(wanted.endsWith(defaultTag) ? [wanted.slice(0, -defaultTag.length)] : [])]
  if (all.includes(name)) return name
  for (const spelling of spellings) {
    const found = all.find((one) => one.toLowerCase() === spelling)
    if (found !== undefined) return found
  }
  return name
}

/** Whether a name is that of a file of the server's machine. */
export function isLocalFile(name: string): boolean {
  return /^(\/|[a-z]:[\\/])/i.test(readSource(name).name)
}

/**
 * What a pull fetches: `hf.co/OWNER/REPO:QUANT`, with or without the host and the quantization, or a short name, which a client may write with the
 * host of Ollama's library.
 */
export function readSource(name: string): { readonly name: string; readonly variant?: string } {
  const bare = name.trim().replace(/^(https?:\/\/)?(hf\.co|huggingface\.co|(registry\.)?ollama\.(ai|com)\/library)\//i, '')
  const [, repository = bare, tag] = /^([^:]+\/[^:]+):([^:/]+)$/.exec(bare) ?? []
  return { name: repository, ...(tag !== undefined && tag.toLowerCase() !== 'latest' && { variant: tag }) }
}
