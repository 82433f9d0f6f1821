package org.apache.hadoop.ipc;

import java.io.DataInput;
import java.io.DataOutput;
import java.io.IOException;
import java.util.Collection;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.hadoop.security.token.SecretManager;
import org.apache.hadoop.security.token.Token;
import org.apache.hadoop.security.token.TokenIdentifier;
import org.apache.hadoop.security.token.TokenSelector;

/** Tokens for the tests: the password is the identifier. */
final class RdmaTestTokens extends SecretManager<RdmaTestTokens.Identifier> {
  static final Text KIND = new Text("rdma.test");

  /** Says who. */
  public static final class Identifier extends TokenIdentifier {
    private final Text who = new Text();

    /** For the server. */
    Identifier() {
    }

    Identifier(String who) {
      this.who.set(who);
    }

    @Override
    public Text getKind() {
      return KIND;
    }

    @Override
    public UserGroupInformation getUser() {
      return UserGroupInformation.createRemoteUser(who.toString());
    }

    @Override
    public void write(DataOutput out) throws IOException {
      who.write(out);
    }

    @Override
    public void readFields(DataInput in) throws IOException {
      who.readFields(in);
    }
  }

  /** Finds the token among a user's. */
  public static final class Selector implements TokenSelector<TokenIdentifier> {
    @Override
    @SuppressWarnings("unchecked")
    public Token<TokenIdentifier> selectToken(Text service, Collection<Token<? extends TokenIdentifier>> tokens) {
      for (Token<? extends TokenIdentifier> token : tokens) {
        if (token.getKind().equals(KIND)) {
          return (Token<TokenIdentifier>) token;
        }
      }
      return null;
    }
  }

  @Override
  protected byte[] createPassword(Identifier identifier) {
    return identifier.getBytes();
  }

  @Override
  public byte[] retrievePassword(Identifier identifier) {
    return identifier.getBytes();
  }

  @Override
  public Identifier createIdentifier() {
    return new Identifier();
  }
}
