import type { Endpoint } from '../transport/client.ts'

/** A server as its source describes it. The URL identifies it. */
export type FoundEndpoint = Omit<Endpoint, 'id'>

/** Each server is probed and checked periodically. */
const mostServers = 1000

/** Returns the servers. Throws an error for people if there are more than a model can have, or if an address is invalid. */
export function checkFound(found: readonly FoundEndpoint[]): readonly FoundEndpoint[] {
  if (found.length > mostServers) throw new Error(`there are ${found.length} servers (at most ${mostServers})`)
  const odd = found.find(({ url }) => !URL.canParse(url))
  if (odd !== undefined) throw new Error(`'${odd.url}' is not a URL`)
  return found
}

/** Receives the results of a source. */
export type SourceListener = {
  /** The complete new set. It may be empty. */
  onSet(found: readonly FoundEndpoint[]): void
  /** A lookup failed. The previous set stays in force. */
  onFailure(reason: string): void
}

/** The source of a model's servers. */
export type EndpointSource = {
  /** Calls the listener with the set once it is known (before it returns, if possible) and after each change, until `stop`. */
  follow(listener: SourceListener): { stop(): void }
}

/** A constant set of servers. */
export function fixedSource(endpoints: readonly FoundEndpoint[]): EndpointSource {
  return {
    follow: ({ onSet }) => {
      onSet(endpoints)
      return { stop: () => undefined }
    },
  }
}

type PartState = { found?: readonly FoundEndpoint[]; failure?: string }

/** The union of several sources. Known servers are used while another source has not answered yet. */
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

/** Drops duplicate addresses: the first source that lists a server describes it. */
function eachOnce(endpoints: readonly FoundEndpoint[]): readonly FoundEndpoint[] {
  const byUrl = new Map<string, FoundEndpoint>()
  for (const one of endpoints) if (!byUrl.has(one.url)) byUrl.set(one.url, one)
  return [...byUrl.values()]
}

/** A source that can be replaced while it is followed. The old set stays in force until the new source knows its own. */
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
