import type { Signal } from '@preact/signals'
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { go, linkTo } from '../../frame/router.ts'
import { chatTexts } from '../../texts/chat.ts'
import { Button, IconButton } from '../../ui/button.tsx'
import { icons } from '../../ui/icons.tsx'
import { Announcer } from './announcer/announcer.tsx'
import { running } from './answers.ts'
import { type Conversation, type Message, pathOf } from './conversation.ts'
import { Gauge } from './gauge.tsx'
import { branchOff, change } from './library.ts'
import { MessageView } from './message.tsx'
import { modelOf, models } from './models.ts'

/** How near the end a reader must be for the view to follow it. */
const nearPx = 48
/** Messages drawn at first, and added by each click on the button: a conversation may have thousands. */
const drawnAtOnce = 100

type PaneProps = {
  readonly conversation: Signal<Conversation>
  readonly onExample: (text: string) => void
  readonly onClose?: (() => void) | undefined
}

/** One conversation: its model and its messages. The view follows the end while the reader is there. */
export function Pane({ conversation, onExample, onClose }: PaneProps) {
  const room = useRef<HTMLDivElement>(null)
  const isAtEnd = useRef(true)
  const before = useRef(0)
  const touchedMs = useRef(Number.NEGATIVE_INFINITY)
  const movedMs = useRef(Number.NEGATIVE_INFINITY)
  const [isAway, setAway] = useState(false)
  const [drawn, setDrawn] = useState(drawnAtOnce)
  const path = pathOf(conversation.value)
  const earlier = path.length - drawn
  const { id, settings } = conversation.value
  const model = modelOf(settings.model)
  const run = [...running.value.values()].find((each) => each.conversation.peek().id === id)
  const toEnd = () => {
    isAtEnd.current = true
    setAway(false)
    if (room.current !== null) room.current.scrollTop = room.current.scrollHeight
  }
  const onScroll = () => {
    const { scrollTop = 0, scrollHeight = 0, clientHeight = 0 } = room.current ?? {}
    const isNear = scrollHeight - scrollTop - clientHeight < nearPx
    // Growth and late layout also scroll; only a reader leaves the end.
    const isReader = performance.now() - touchedMs.current < 1000
    const isMoving = performance.now() - movedMs.current < 1000
    if (isReader && scrollTop < before.current && (isMoving || !isNear)) isAtEnd.current = false
    else if (isNear) isAtEnd.current = true
    before.current = scrollTop
    setAway(!isAtEnd.current)
  }
  const touched = () => {
    touchedMs.current = performance.now()
  }
  const moved = () => {
    touched()
    movedMs.current = performance.now()
  }
  // A smooth scroll leaves the end in small steps, from each of which growth would take the reader back.
  const wheeled = ({ deltaY }: WheelEvent) => {
    if (deltaY >= 0 || room.current?.scrollTop === 0) return touched()
    moved()
    isAtEnd.current = false
  }
  // Growth and late layout move the end.
  useEffect(() => {
    const inner = room.current?.firstElementChild
    if (inner == null) return
    const observer = new ResizeObserver(() => {
      if (isAtEnd.current && room.current !== null) room.current.scrollTop = room.current.scrollHeight
    })
    observer.observe(inner)
    return () => observer.disconnect()
  }, [])
  useLayoutEffect(toEnd, [id, path.length])
  const branch = ({ id: last }: Message) => go(linkTo('chat', [branchOff(conversation.value, last)]))
  // The second model answers the same question.
  const compare = (answered: Message) => {
    const question = path[path.indexOf(answered) - 1]
    go(
      linkTo('chat', [id], { beside: branchOff(conversation.value, question?.id, chatTexts.compared(conversation.value.title)) }),
    )
  }
  return (
    <section class="pane" aria-label={conversation.value.title || chatTexts.untitled}>
      <div class="pane-head">
        <select
          class="field model"
          aria-label={chatTexts.model}
          value={model?.id ?? ''}
          onChange={(event) =>
            change(conversation, { ...conversation.value, settings: { ...settings, model: event.currentTarget.value } })
          }
        >
          {(models.value ?? []).map(({ id: name, state }) => (
            <option key={name} value={name}>
              {name + chatTexts.modelState(state)}
            </option>
          ))}
        </select>
        {model !== undefined && <Gauge conversation={conversation} model={model} />}
        <span class="space" />
        {onClose !== undefined && <IconButton icon="close" name={chatTexts.single} onClick={onClose} />}
      </div>
      <div
        class="pane-room"
        ref={room}
        onScroll={onScroll}
        onWheel={wheeled}
        onTouchMove={moved}
        onPointerDown={touched}
        onKeyDown={touched}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrollable region must be reachable by keyboard.
        tabIndex={0}
        role="log"
        aria-live="off"
        aria-label={chatTexts.title}
      >
        <div class="messages">
          {path.length === 0 && <Welcome onExample={onExample} />}
          {earlier > 0 && (
            <Button kind="earlier" onClick={() => setDrawn(drawn + drawnAtOnce)}>
              {chatTexts.earlier(earlier)}
            </Button>
          )}
          {path.slice(-drawn).map((message) => (
            <MessageView
              key={message.id}
              conversation={conversation}
              message={message}
              isLast={message === path.at(-1)}
              model={model?.id ?? ''}
              onBranch={branch}
              onCompare={compare}
            />
          ))}
        </div>
      </div>
      {isAway && (
        <Button kind="newest" onClick={toEnd}>
          <icons.down />
          {chatTexts.newest}
        </Button>
      )}
      <Announcer run={run} />
    </section>
  )
}

function Welcome({ onExample }: { readonly onExample: (text: string) => void }) {
  return (
    <div class="welcome">
      <h2>{chatTexts.welcome}</h2>
      <ul>
        {chatTexts.examples.map((example) => (
          <li key={example}>
            <button type="button" class="example" onClick={() => onExample(example)}>
              {example}
            </button>
          </li>
        ))}
      </ul>
    </div>
  )
}
