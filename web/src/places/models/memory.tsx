import type { Device, ServerState } from '../../live/wire.ts'
import { placeTexts } from '../../texts/places.ts'
import { formatBytes, formatCount } from '../../ui/numbers.ts'
import { Progress } from '../../ui/states.tsx'

const texts = placeTexts.models

type MemoryProps = { readonly text: string; readonly title: string; readonly part: number }

/** How much of a memory is used, in words and as a bar. */
export function Memory({ text, title, part }: MemoryProps) {
  return (
    <div class="memory" title={title}>
      <span class="small muted">{text}</span>
      <Progress part={part} name={text} />
    </div>
  )
}

export function memoryOf({ used_bytes: used, budget_bytes: budget }: NonNullable<ServerState['memory']>): MemoryProps {
  return { ...amounts(used, budget), text: texts.memory(formatBytes(used), formatBytes(budget)) }
}

export function memoryOfDevice({ description, total_bytes: total, free_bytes: free }: Device): MemoryProps {
  const used = total - free
  return { ...amounts(used, total), text: texts.deviceMemory(description, formatBytes(used), formatBytes(total)) }
}

function amounts(used: number, all: number): Omit<MemoryProps, 'text'> {
  return { part: all === 0 ? 0 : used / all, title: `${formatCount(used)} / ${formatCount(all)} bytes` }
}
