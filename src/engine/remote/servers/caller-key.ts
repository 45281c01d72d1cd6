import type { CallerKeys } from '../../../contract/caller-keys.ts'
import type { Endpoint } from '../transport/client.ts'
import type { ProfileName } from './profile.ts'

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

/** A provider's name is its kind's, without the hyphen. */
function providerOfKind(kind: ProfileName): string {
  return kind.replaceAll('-', '_')
}

/**
 * The caller's key for a server: that of the provider that its host name names, or else of its kind; or the key for any server,
 * `passthrough`. Undefined where the caller brought none of these.
 */
export function callerKeyFor(keys: CallerKeys, { url }: Pick<Endpoint, 'url'>, kind: ProfileName): string | undefined {
  return keys.get(providerAt(url) ?? providerOfKind(kind)) ?? keys.get('passthrough')
}

/** The label that is nearest to the top-level domain decides: a host in `openai.azure.com` is Azure's. */
function providerAt(url: string): string | undefined {
  if (!URL.canParse(url)) return undefined
  const labels = new URL(url).hostname.toLowerCase().split('.').reverse()
  return labels.map((label) => (Object.hasOwn(hosts, label) ? hosts[label] : undefined)).find((name) => name !== undefined)
}
