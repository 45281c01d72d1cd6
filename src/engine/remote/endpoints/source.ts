import type { Endpoint } from '../transport/client.ts'

/** A server as its source describes it; its URL is its identity. */
export type FoundEndpoint = Omit<Endpoint, 'id'>

/** Each is probed and asked again and again. */
const mostServers = 1000

/** Returns them. Throws an error, for people, for more servers than a model can have, and for an address that is none. */
export function checkFound(found: readonly FoundEndpoint[]): readonly FoundEndpoint[] {
  if (found.length > mostServers) throw new Error(`there are ${found.length} servers (at most ${mostServers})`)
  const odd = found.find(({ url }) => !URL.canParse(url))
  if (odd !== undefined) throw new Error(`'${odd.url}' is not a URL`)
  return found
}

/** Hears what a source finds. */
export type SourceListener = {
  /** The whole set, as it is from now on; it may be empty. */
  onSet(found: readonly FoundEndpoint[]): void
  /** It could not be found out. What was known before stays in force. */
  onFailure(reason: string): void
}

/** Where the servers of a model come from. */
export type EndpointSource = {
  /** Calls the listener at once where the set is known, and for each change, until `stop`. */
  follow(listener: SourceListener): { stop(): void }
}

/** Servers that do not change. */
export function fixedSource(endpoints: readonly FoundEndpoint[]): EndpointSource {
  return {
    follow: ({ onSet }) => {
      onSet(endpoints)
      return { stop: () => undefined }
    },
  }
}

type PartState = { found?: readonly FoundEndpoint[]; failure?: string }

/** The servers of several sources. Those that are known are used while another source has not been reached yet. */
export function joinedSource(sources: readonly EndpointSource[]): EndpointSource {
  const [only] = sources
  if (sources.length === 1 && only !== undefined) return only
  return {
    follow: ({ onSet, onFailure }) => {
      const parts = sources.map((): PartState => ({}))
      const report = () => {
        if (parts.some(({ found, failure }) => found === undefined && failure === undefined)) return
        const known = parts.flatMap(({ found }) => (found === undefined ? [] : [found]))
        if (known.length === 0) onFailure([...new Set(parts.map(({ failure }) => failure))].join('; '))
        else onSet(eachOnce(known.flat()))
      }
      const following = sources.map((source, index) =>
        source.follow({
          onSet: (found) => {
            parts[index] = { found }
            report()
          },
          onFailure: (failure) => {
            if (parts[index]?.found !== undefined) return
            parts[index] = { failure }
            report()
          },
        }),
      )
      return { stop: () => following.forEach((one) => void one.stop()) }
    },
  }
}

/** An address of two sources is one server, as the first of them describes it. */
function eachOnce(endpoints: readonly FoundEndpoint[]): readonly FoundEndpoint[] {
  const byUrl = new Map<string, FoundEndpoint>()
  for (const one of endpoints) if (!byUrl.has(one.url)) byUrl.set(one.url, one)
  return [...byUrl.values()]
}

/** A source that can be replaced by another while it is followed: what is known stays in force until the new one knows its set. */
export class ReplaceableSource implements EndpointSource {
  #source: EndpointSource
  readonly #followers = new Set<{ readonly listener: SourceListener; stop(): void }>()

  constructor(source: EndpointSource) {
    this.#source = source
  }

  follow(listener: SourceListener): { stop(): void } {
    const follower = { listener, ...this.#source.follow(listener) }
    this.#followers.add(follower)
    return {
      stop: () => {
        this.#followers.delete(follower)
        follower.stop()
      },
    }
  }

  replace(source: EndpointSource): void {
    this.#source = source
    for (const follower of this.#followers) {
      follower.stop()
      follower.stop = source.follow(follower.listener).stop
    }
  }
}
