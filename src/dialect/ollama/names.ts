const defaultTag = ':latest'

/** An id in the form of Ollama's lists, always with a tag. */
export function taggedName(id: string): string {
  return id.slice(id.lastIndexOf('/') + 1).includes(':') ? id : id + defaultTag
}

/** Whether a name denotes a file of the server's machine. */
export function isLocalFile(name: string): boolean {
  return /^(\/|[a-z]:[\\/])/i.test(readSource(name).name)
}

/**
 * The source of a pull: `hf.co/OWNER/REPO:QUANT`, with or without the host and the quantization, or a short name, which a client may prefix
 * with the host of Ollama's library.
 */
export function readSource(name: string): { readonly name: string; readonly variant?: string } {
  const bare = name.trim().replace(/^(https?:\/\/)?(hf\.co|huggingface\.co|(registry\.)?ollama\.(ai|com)\/library)\//i, '')
  const [, repository = bare, tag] = /^([^:]+\/[^:]+):([^:/]+)$/.exec(bare) ?? []
  return { name: repository, ...(tag !== undefined && tag.toLowerCase() !== 'latest' && { variant: tag }) }
}
