import { PlaceHead } from '../../ui/place-head.tsx'

export function Chat() {
  return <PlaceHead title="Chat" />
}
