/** Providers by a label of their host names: the key of one is never sent to another. */
const hosts: Readonly<Record<string, string>> = {
  anthropic: 'anthropic',
  azure: 'azure',
  cerebras: 'cerebras',
  databricks: 'databricks',
  fireworks: 'fireworks',
  googleapis: 'gemini',
  groq: 'groq',
  llama: 'llama',
  mistral: 'mistral',
  nvidia: 'nvidia',
  openai: 'openai',
  runpod: 'runpod',
  sambanova: 'sambanova',
  together: 'together',
}

/**
 * The provider in a host name; undefined for one's own servers. The label nearest to the top-level domain decides: a host in
 * `openai.azure.com` is Azure's.
 */
export function providerAt(url: string): string | undefined {
  if (!URL.canParse(url)) return undefined
  const labels = new URL(url).hostname.toLowerCase().split('.').reverse()
  return labels.map((label) => (Object.hasOwn(hosts, label) ? hosts[label] : undefined)).find((name) => name !== undefined)
}
