import { chatFaults } from './chat-faults.ts'
import type { Fault } from './faulty-server.ts'
import { promiseFaults } from './promise-faults.ts'
import { protocolFaults } from './protocol-faults.ts'

export const faults: readonly Fault[] = [...chatFaults, ...promiseFaults, ...protocolFaults]
