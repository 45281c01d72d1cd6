import { totalmem } from 'node:os'

/** The weights of a model may take half of the memory: contexts, the system and other programs need the rest. */
const shareOfMemory = 0.5

/** Whether a model file of this size leaves enough of a machine's memory. */
export function fitsMemory(sizeBytes: number, memoryBytes: number): boolean {
  return sizeBytes <= memoryBytes * shareOfMemory
}

/** The memory that this process may use: that of the machine, or of its container. */
export function availableMemoryBytes(): number {
  const total = totalmem()
  // Without a limit, 0 or a number beyond the machine's memory.
  const limit = process.constrainedMemory()
  return limit > 0 ? Math.min(total, limit) : total
}

/** The bytes of a budget: a number up to 1 is a fraction of the memory that this process may use. */
export function budgetBytes(budget: number): number {
  return budget <= 1 ? Math.floor(budget * availableMemoryBytes()) : budget
}
