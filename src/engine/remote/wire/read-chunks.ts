import type { Profile } from '../servers/profile.ts'
import type { WireChunk } from '../transport/wire-chunk.ts'
import { readChunk } from '../transport/wire-reply.ts'
import { MessagesReply } from './messages-reply.ts'
import { ResponsesReply } from './responses-reply.ts'

/** Reads one value of a reply after the other. Throws an error that the server reports. */
export type ChunkReader = (value: unknown) => WireChunk

/** The reader of one reply in the server's protocol, with this many choices. */
export function createChunkReader({ protocol, stopField }: Profile, choices: number): ChunkReader {
  switch (protocol) {
    case 'chat':
    case 'completions':
      return (value) => readChunk(value, { stopField, choices })
    case 'responses': {
      const reply = new ResponsesReply()
      return (value) => reply.read(value)
    }
    case 'messages': {
      const reply = new MessagesReply()
      return (value) => reply.read(value)
    }
  }
}
