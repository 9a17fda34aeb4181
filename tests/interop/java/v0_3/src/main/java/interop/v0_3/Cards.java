package interop.v0_3;

import io.a2a.server.ExtendedAgentCard;
import io.a2a.server.PublicAgentCard;
import io.a2a.spec.AgentCapabilities;
import io.a2a.spec.AgentCard;
import io.a2a.spec.AgentExtension;
import io.a2a.spec.AgentInterface;
import io.a2a.spec.AgentSkill;
import jakarta.enterprise.context.ApplicationScoped;
import jakarta.enterprise.inject.Produces;
import java.util.List;

/** The cards of the agent. */
@ApplicationScoped
public final class Cards {
    private static final String EXTENSION = "https://example.com/extensions/interop/v1";

    @Produces
    @PublicAgentCard
    AgentCard publicCard() {
        return card(List.of(skill("echo")));
    }

    @Produces
    @ExtendedAgentCard
    AgentCard extendedCard() {
        return card(List.of(skill("echo"), skill("secret")));
    }

    private static AgentSkill skill(String name) {
        return new AgentSkill.Builder()
                .id(name)
                .name(name)
                .description("The word " + name + ".")
                .tags(List.of("interop"))
                .build();
    }

    private static AgentCard card(List<AgentSkill> skills) {
        String http = "http://" + Server.authority();
        AgentExtension extension = new AgentExtension.Builder()
                .uri(EXTENSION)
                .description("Named back to the client.")
                .build();
        AgentCapabilities capabilities = new AgentCapabilities.Builder()
                .streaming(true)
                .pushNotifications(true)
                .extensions(List.of(extension))
                .build();
        return new AgentCard.Builder()
                .name("Interop agent (Java SDK 0.3)")
                .description("Answers by the first word of a message.")
                .version("1.0.0")
                .protocolVersion("0.3.0")
                .url(http)
                .preferredTransport("JSONRPC")
                .additionalInterfaces(List.of(
                        new AgentInterface("JSONRPC", http),
                        new AgentInterface("HTTP+JSON", http),
                        new AgentInterface("GRPC", Server.authority())))
                .capabilities(capabilities)
                .supportsAuthenticatedExtendedCard(true)
                .defaultInputModes(List.of("text/plain"))
                .defaultOutputModes(List.of("text/plain"))
                .skills(skills)
                .build();
    }
}
